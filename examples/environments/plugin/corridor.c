/* SPDX-License-Identifier: Apache-2.0 */
/* An environment in C: a corridor of 9 fields with the goal at its right end, 1 for the goal and -0.01 a step; a step goes the
 * wrong way with probability 0.1. The action is 0 to the left, 1 to the right; an observation is the place in [-1, 1]. An
 * episode is cut after 50 steps.
 *
 *     cc -std=c99 -shared -fPIC -I include -o corridor.so examples/environments/plugin/corridor.c
 *     gmac-train --env ./corridor.so
 */
#include <gmac/environment/plugin.h>

#include <stdlib.h>
#include <string.h>

enum { fields = 9, limit = 50 };

typedef struct {
    uint64_t random;
    int32_t place, steps;
} walker;

typedef struct {
    size_t count;
    walker walkers[]; /* count */
} corridor;

static char const* why = NULL;

/* A number in [0, 1): splitmix64. */
static double uniform(walker* w) {
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void observe(walker const* w, float* observation) {
    *observation = (float)(2 * w->place) / (float)(fields - 1) - 1.0f;
}

static void begin(walker* w, float* observation) {
    w->place = (int32_t)(uniform(w) * (fields - 1));
    w->steps = 0;
    observe(w, observation);
}

static void* make(size_t count, uint64_t seed, char const* options) {
    if (*options != '\0') {
        why = "the corridor has no options";
        return NULL;
    }
    corridor* all = malloc(sizeof(corridor) + count * sizeof(walker));
    if (all == NULL) {
        why = "there is no memory";
        return NULL;
    }
    all->count = count;
    for (size_t i = 0; i < count; ++i)
        all->walkers[i] = (walker){seed + ((uint64_t)(i + 1) << 40u), 0, 0};
    return all;
}

static int reset(void* environments, float* observations) {
    corridor* all = environments;
    for (size_t i = 0; i < all->count; ++i)
        begin(&all->walkers[i], &observations[i]);
    return 0;
}

static int step(void* environments, float const* actions, float* observations, float* finals, float* rewards,
                uint8_t* terminated, uint8_t* truncated) {
    corridor* all = environments;
    for (size_t i = 0; i < all->count; ++i) {
        walker* w = &all->walkers[i];
        int right = (actions[i] == 1.0f) != (uniform(w) < 0.1);
        w->place += right ? 1 : w->place > 0 ? -1 : 0;
        w->steps += 1;
        terminated[i] = w->place == fields - 1;
        truncated[i] = !terminated[i] && w->steps == limit;
        rewards[i] = terminated[i] ? 1.0f : -0.01f;
        observe(w, &observations[i]);
        if (terminated[i] || truncated[i]) {
            finals[i] = observations[i];
            begin(w, &observations[i]);
        }
    }
    return 0;
}

static size_t state_size(void* environments) {
    return ((corridor*)environments)->count * sizeof(walker);
}
static int save(void* environments, void* bytes) {
    corridor* all = environments;
    memcpy(bytes, all->walkers, state_size(all));
    return 0;
}
static int load(void* environments, void const* bytes, size_t size) {
    corridor* all = environments;
    if (size != state_size(all)) {
        why = "the stored state is of another number of walkers";
        return 1;
    }
    memcpy(all->walkers, bytes, size);
    return 0;
}

/* The corridor, its goal and the walker. */
static size_t draw(void* environments, size_t index, float* numbers, size_t most) {
    corridor* all = environments;
    float const right = fields - 0.5f;
    float const drawn[] = {-1, fields, -1.5f, 1.5f, 0.1f, /* the window, and the seconds */
                           0, 5, -0.5f, -0.5f, right, -0.5f, right, 0.5f, -0.5f, 0.5f, -0.5f, -0.5f, /* the walls */
                           2, 2, right - 0.9f, -0.4f, right - 0.1f, 0.4f,                            /* the goal */
                           1, 1, (float)all->walkers[index].place, 0};
    size_t const count = sizeof(drawn) / sizeof(drawn[0]);
    memcpy(numbers, drawn, (count < most ? count : most) * sizeof(float));
    return count;
}

static char const* problem(void) {
    return why;
}

gmac_environment const* gmac_environment_library(void) {
    static gmac_environment const description = {.version = GMAC_ENVIRONMENT_VERSION,
                                                 .name = "corridor",
                                                 .observation_size = 1,
                                                 .actions = 2,
                                                 .action_size = 1,
                                                 .make = make,
                                                 .destroy = free,
                                                 .reset = reset,
                                                 .step = step,
                                                 .state_size = state_size,
                                                 .save = save,
                                                 .load = load,
                                                 .draw = draw,
                                                 .problem = problem};
    return &description;
}
