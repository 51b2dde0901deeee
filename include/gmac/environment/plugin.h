/* SPDX-License-Identifier: Apache-2.0 */
/* An environment as a shared library, which `gmac-train --env ./cliff.so` and gmac::plugin_environments load: C99, so that
 * any language can offer one. In C++ GMAC_EXPORT_ENVIRONMENT (gmac/environment/plugin/export.hpp) writes all of it.
 *
 * All matrices are row by row, a row an environment. One set of environments is used by one thread at a time. */
#ifndef GMAC_ENVIRONMENT_PLUGIN_H
#define GMAC_ENVIRONMENT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GMAC_ENVIRONMENT_VERSION 2u

typedef struct gmac_environment {
    uint32_t version;        /* GMAC_ENVIRONMENT_VERSION */
    char const* name;        /* for messages */
    size_t observation_size; /* floats of an observation */
    size_t actions;          /* the actions are 0, ..., actions - 1; 0: they are vectors; of several at once see below */
    size_t action_size;      /* floats of a vector; 1 for a discrete action, which is its number */
    float const* low;        /* [action_size] bounds of a vector; NULL for discrete actions */
    float const* high;
    /* Several discrete actions at once: action_size is how many, two at least; number i of an action is one of 0, ..., high[i],
     * and `low` NULL or zeros; `actions` is how many values all of them have together, the sum of the high[i] + 1. */

    /* `count` environments whose random numbers all follow from the seed; `options` is text of their own, or empty. NULL if
     * that failed. */
    void* (*make)(size_t count, uint64_t seed, char const* options);
    void (*destroy)(void* environments);

    /* These return 0, or anything else if they failed. */

    /* A new episode everywhere: observations [count, observation_size]. */
    int (*reset)(void* environments, float* observations);
    /* One step everywhere, by actions [count, action_size]. An environment whose episode ends sets its byte of `terminated`
     * (nothing comes after) or of `truncated` (it was cut) to 1, writes its last observation into its row of `finals`, and
     * begins the next episode, whose first observation is its row of `observations`. All bytes are 0 before the call. */
    int (*step)(void* environments, float const* actions, float* observations, float* finals, float* rewards,
                uint8_t* terminated, uint8_t* truncated);

    /* Which discrete actions may come next, [count, actions]: a 0 for those that may not; all are 1 before the call. Of several
     * actions at once the values of the first, then those of the second, and so on. NULL: all may, always. */
    int (*allowed)(void* environments, uint8_t* allowed);

    /* All that the next step depends on, so that a run goes on bit for bit after a stop. All three NULL: it starts new
     * episodes then. The size may change from step to step. */
    size_t (*state_size)(void* environments);
    int (*save)(void* environments, void* bytes);
    int (*load)(void* environments, void const* bytes, size_t size);

    /* What environment `index` looks like now, as lines for people to see: writes the left, right, lower and upper end of a
     * window, the seconds that a step is shown, and of each line its colour (0 for what stands still, 1 to 4 for what is told apart), the number of its points and
     * x and y of each. Returns how many numbers that are; those beyond `most` are not written, and then it is called again
     * with more room. NULL: it cannot be drawn. */
    size_t (*draw)(void* environments, size_t index, float* numbers, size_t most);

    /* Why the last call of this thread failed. NULL: no reason is given. */
    char const* (*problem)(void);
} gmac_environment;

/* The one symbol of the library. */
gmac_environment const* gmac_environment_library(void);

#ifdef __cplusplus
}
#endif

#endif
