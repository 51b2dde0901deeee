/* SPDX-License-Identifier: Apache-2.0
 * act OBSERVATIONS RESULTS: acts by policy.h on each observation of a file, and writes the outputs of the network and the action
 * as floats. */
#include "policy.h"

#include <stdio.h>

#ifdef POLICY_OBSERVATION_HEIGHT
typedef unsigned char element;
#else
typedef float element;
#endif

static element observation[POLICY_OBSERVATION_SIZE];

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in != NULL ? fopen(argv[2], "wb") : NULL;
    if (out == NULL)
        return 1;
    while (fread(observation, sizeof observation, 1, in) == 1) {
        float outputs[POLICY_OUTPUTS];
#ifdef POLICY_ACTIONS
        float action[1];
        action[0] = (float)policy_act(observation);
#elif defined POLICY_COMPONENTS
        int chosen[POLICY_COMPONENTS];
        float action[POLICY_COMPONENTS];
        policy_act(observation, chosen);
        for (int i = 0; i < POLICY_COMPONENTS; ++i)
            action[i] = (float)chosen[i];
#else
        float action[POLICY_ACTION_SIZE];
        policy_act(observation, action);
#endif
        policy_outputs(observation, outputs);
        if (fwrite(outputs, sizeof outputs, 1, out) != 1 || fwrite(action, sizeof action, 1, out) != 1)
            return 2;
    }
    fclose(in);
    return fclose(out) == 0 ? 0 : 3;
}
