// SPDX-License-Identifier: Apache-2.0
// What the checks share. A check is a function that runs in a process of its own, with the driver
// initialised, a context and one kernel; its name is the rule that it checks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600
};
enum { kBlocking = 0, kNonBlocking = 1 };  // stream flags

/// Long enough for the host to look while it lasts, also on a busy machine.
enum { kLongMs = 150, kShortMs = 30 };

#define LEGACY ((void*)1)
#define PER_THREAD ((void*)2)

struct LaunchConfig {
  unsigned int grid[3], block[3], shared_bytes;
  void* stream;
  void* attributes;
  unsigned int attribute_count;
};

/// The library's functions; null where it has none of that name.
struct Driver {
#define FUNCTION(name, arguments) int(*name) arguments;
#include "functions.h"
#undef FUNCTION
};
extern struct Driver cu;
extern void* g_library;
extern void* g_context;
extern void* g_spin;

struct Check {
  const char* rule;
  const char* needs;  // functions beyond those that every check needs, with blanks between
  void (*run)(void);
  bool without_device;
};
#define RULE(name, needs) {#name, needs, name, false}
#define RULE_WITHOUT_DEVICE(name, needs) {#name, needs, name, true}
#define RULES_END {NULL, NULL, NULL, false}

extern const struct Check kLookupChecks[];
extern const struct Check kEventChecks[];
extern const struct Check kStreamChecks[];
extern const struct Check kPerThreadChecks[];
extern const struct Check kMemoryChecks[];
extern const struct Check kCopyChecks[];
extern const struct Check kContextChecks[];
extern const struct Check kGraphChecks[];
extern const struct Check kQueueChecks[];

/// Ends the check as failed unless `result` is 0.
void must(const char* call, int result);
#define MUST(call) must(#call, cu.call)

/// Fails the check; the first failure is the one that is told.
void expect(bool condition, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// `result` of `call` is `wanted`.
void expect_result(const char* call, int result, int wanted);
#define EXPECT(call, wanted) expect_result(#call, cu.call, wanted)

/// Adds to what is told of the check; for what the real driver is not known to do for certain.
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));

double now_ms(void);
void sleep_ms(double ms);
/// Of the calling thread.
double cpu_ms(void);

/// Makes g_spin the kernel of the current context.
void load_spin(void);
void* new_stream(unsigned int flags);
void* new_event(void);
uint64_t new_memory(size_t bytes);
void* new_pinned(size_t bytes);
/// A kernel that lasts so long.
void launch(void* stream, double ms);
/// An event that is recorded in `stream` now.
void* mark(void* stream);
/// The two answers that a query may have, as a word for notes.
const char* answer(int result);
/// All bytes of `memory` are `value`.
bool all_bytes(const void* memory, unsigned char value, size_t bytes);
/// Runs `body` in another thread and waits for it; without a context of its own.
void in_thread(void (*body)(void*), void* argument);
/// What a function makes of a handle that was destroyed: nobody promises anything, so it may crash.
/// The negative number of the signal then; the check can only end after that.
int call_with_dead_handle(int (*function)(void*), void* handle);
