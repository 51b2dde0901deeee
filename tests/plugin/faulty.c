/* SPDX-License-Identifier: Apache-2.0 */
/* Goes wrong as the options say, in the third step of environment 1; or, as GMAC_FAULT says, in its description. */
#include <gmac/environment/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t count;
    int steps;
    char fault[32];
} worlds;

static char const* why = NULL;
static int asks(char const* fault) {
    char const* const asked = getenv("GMAC_FAULT");
    return asked != NULL && strcmp(asked, fault) == 0;
}

static void* make(size_t count, uint64_t seed, char const* options) {
    (void)seed;
    why = "make was told to fail";
    if (strcmp(options, "make") == 0)
        return NULL;
    worlds* w = calloc(1, sizeof(worlds));
    w->count = count;
    strncpy(w->fault, options, sizeof w->fault - 1);
    return w;
}
static int reset(void* environments, float* observations) {
    worlds* w = environments;
    w->steps = 0;
    for (size_t i = 0; i < 2 * w->count; ++i)
        observations[i] = strcmp(w->fault, "reset") == 0 ? (float)INFINITY : 0.0f;
    return 0;
}
static int step(void* environments, float const* actions, float* observations, float* finals, float* rewards,
                uint8_t* terminated, uint8_t* truncated) {
    worlds* w = environments;
    (void)actions;
    w->steps += 1;
    for (size_t i = 0; i < w->count; ++i) {
        int now = w->steps == 3 && i == 1;
        rewards[i] = now && strcmp(w->fault, "reward") == 0 ? (float)NAN : 1.0f;
        float before = observations[2 * i + 1];
        observations[2 * i] = (float)w->steps;
        observations[2 * i + 1] = now && strcmp(w->fault, "observation") == 0 ? (float)NAN : 0.0f;
        if (now && strcmp(w->fault, "unwritten") == 0)
            observations[2 * i + 1] = before;
        if (now && strcmp(w->fault, "behind") == 0)
            observations[2 * w->count] = 0.0f;
        if (now && strcmp(w->fault, "flag") == 0)
            terminated[i] = 2;
        if (now && (strcmp(w->fault, "final") == 0 || strcmp(w->fault, "both") == 0)) {
            terminated[i] = truncated[i] = 1;
            finals[2 * i] = 7.0f;
            finals[2 * i + 1] = strcmp(w->fault, "final") == 0 ? (float)-INFINITY : 8.0f;
        }
    }
    why = strcmp(w->fault, "silent") == 0 ? NULL : "step was told to fail";
    return w->steps == 3 && (strcmp(w->fault, "step") == 0 || strcmp(w->fault, "silent") == 0);
}
static int allowed(void* environments, uint8_t* may) {
    worlds* w = environments;
    for (size_t i = 0; i < w->count; ++i) {
        may[3 * i + 1] = 0;
        if (strcmp(w->fault, "mask") == 0 && w->steps == 3 && i == 1)
            may[3 * i] = may[3 * i + 2] = 0;
    }
    return 0;
}
static size_t state_size(void* environments) {
    worlds* w = environments;
    return strcmp(w->fault, "sizes") == 0 ? (size_t)-1 : 1;
}
static size_t draw(void* environments, size_t index, float* numbers, size_t most) {
    (void)environments;
    (void)index;
    (void)numbers;
    (void)most;
    return (size_t)-1;
}
static int save(void* environments, void* bytes) {
    (void)environments;
    *(char*)bytes = 'x';
    return 0;
}
static int load(void* environments, void const* bytes, size_t size) {
    (void)environments;
    (void)bytes;
    (void)size;
    why = "load always fails";
    return 1;
}
static char const* problem(void) {
    return why;
}

gmac_environment const* gmac_environment_library(void) {
    static gmac_environment is;
    static float const low[2] = {-1.0f, 1.0f}, high[2] = {1.0f, 0.0f}, fraction[2] = {1.0f, 0.5f};
    is = (gmac_environment){GMAC_ENVIRONMENT_VERSION,
                            "faulty",
                            2,
                            3,
                            1,
                            NULL,
                            NULL,
                            make,
                            free,
                            reset,
                            step,
                            allowed,
                            state_size,
                            save,
                            load,
                            draw,
                            problem};
    if (asks("version"))
        is.version = 7;
    if (asks("step"))
        is.step = NULL;
    if (asks("half"))
        is.load = NULL;
    if (asks("large"))
        is.observation_size = (size_t)-1;
    if (asks("size"))
        is.observation_size = 0;
    if (asks("action_size"))
        is.action_size = 0;
    if (asks("several") || asks("begin") || asks("fraction") || asks("sum"))
        is.action_size = 2;
    if (asks("begin"))
        is.low = low;
    if (asks("begin") || asks("sum"))
        is.high = high;
    if (asks("fraction"))
        is.high = fraction;
    if (asks("sum"))
        is.actions = 4;
    if (asks("allowed"))
        is.actions = 0;
    if (asks("unbounded") || asks("bounds")) {
        is.actions = 0;
        is.allowed = NULL;
        is.action_size = 2;
    }
    if (asks("bounds")) {
        is.low = low;
        is.high = high;
    }
    return asks("null") ? NULL : &is;
}
