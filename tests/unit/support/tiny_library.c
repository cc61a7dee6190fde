/* SPDX-License-Identifier: Apache-2.0
 *
 * A library small enough to damage byte by byte.
 */
static int hidden(int x) {
  return x * 3;
}

int tiny_exported(int x);
int tiny_exported_too(int x);
extern int tiny_variable;

int tiny_variable = 7;
int tiny_exported(int x) {
  return hidden(x) + tiny_variable;
}
int tiny_exported_too(int x) {
  return hidden(x) - tiny_variable;
}
