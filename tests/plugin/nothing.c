/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that is no environment. */
int gmac_nothing(void);
int gmac_nothing(void) {
    return 1;
}
