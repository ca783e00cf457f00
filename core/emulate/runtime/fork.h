#pragma once

namespace devsan::emulate {

/// For pthread_atfork: takes every lock that a free of emulated or pinned memory takes, so that the child, which drops
/// what it inherits, finds none of them held by a thread that it does not have.
void hold_locks_for_fork();

/// Releases them, in the parent and in the child.
void release_locks_after_fork();

}  // namespace devsan::emulate
