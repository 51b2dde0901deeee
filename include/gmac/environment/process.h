/* SPDX-License-Identifier: Apache-2.0 */
/* An environment as a program, which `gmac-train --env ./pole.py` and gmac::plugin_environments start: in any language that
 * can map memory and wait for a POSIX semaphore. For Python examples/environments/process/gmac_environment.py does all of it.
 *
 * The program finds the memory that it shares with gmac at file descriptor 3, a gmac_process at its beginning. It maps it,
 * describes its environment there, and posts `answered`. Then, until it is told to end: it waits for `asked`, does what
 * `command` says, and posts `answered`. What fails sets `failed` to 1 and says why in `problem`.
 *
 * Matrices are row by row, a row an environment, of floats; they lie at the byte offsets that gmac writes into `at` before
 * it asks for gmac_process_make, when it also makes the memory larger, `size` bytes, so it has to be mapped anew then. */
#ifndef GMAC_ENVIRONMENT_PROCESS_H
#define GMAC_ENVIRONMENT_PROCESS_H

#include <semaphore.h>
#include <stdint.h>

#define GMAC_PROCESS_VERSION 1u
#define GMAC_PROCESS_DESCRIPTOR 3

enum gmac_process_command {
    gmac_process_end = 0,     /* exit; nothing is to be answered */
    gmac_process_make = 1,    /* `count` environments whose random numbers all follow from `seed` */
    gmac_process_reset = 2,   /* as in gmac/environment/plugin.h, from here on */
    gmac_process_step = 3,
    gmac_process_allowed = 4,
    gmac_process_save = 5,    /* writes `state_size` bytes into the file behind the `size` bytes that are mapped */
    gmac_process_load = 6,    /* reads them from there */
    gmac_process_draw = 7     /* writes `state_size` bytes there, floats that show environment `index` */
};

enum gmac_process_array {
    gmac_process_actions,      /* [count, action_size] */
    gmac_process_observations, /* [count, observation_size] */
    gmac_process_finals,       /* [count, observation_size] */
    gmac_process_rewards,      /* [count] */
    gmac_process_terminated,   /* [count] bytes, 0 before each step */
    gmac_process_truncated,    /* [count] bytes, 0 before each step */
    gmac_process_masks,        /* [count, discrete_actions] bytes, 1 before they are asked for */
    gmac_process_arrays
};

typedef struct gmac_process {
    uint32_t version; /* of gmac: GMAC_PROCESS_VERSION */
    uint32_t command; /* of gmac */
    uint32_t failed;  /* of the program */
    uint32_t process; /* of gmac: its number; a program whose gmac is gone must end */
    union {
        sem_t semaphore;
        char bytes[56];
    } asked, answered; /* at the bytes 16 and 72 */
    /* At byte 128, of the program, before its first answer: */
    uint64_t observation_size;
    uint64_t discrete_actions; /* 0: vectors, with bounds; of several at once, which have bounds too, see plugin.h */
    uint64_t action_size;      /* 1 for a discrete action */
    uint64_t has_masks;        /* 1: gmac_process_allowed is asked for */
    uint64_t has_state;        /* 1: gmac_process_save and gmac_process_load are asked for */
    uint64_t has_drawing;      /* 1: gmac_process_draw is asked for */
    /* At byte 176, of gmac: */
    uint64_t count, seed, size, at[gmac_process_arrays], index;
    uint64_t state_size; /* at byte 264, of who wrote the state */
    char name[240];      /* at byte 272, of the program, ends with 0 like all texts */
    char problem[1536];  /* of the program */
    char options[2048];  /* of gmac, from the beginning: text of the environment's own, or empty */
    float bounds[2048];  /* at byte 4096: the lowest numbers of an action, then the highest; action_size is 1024 at most */
} gmac_process;

#endif
