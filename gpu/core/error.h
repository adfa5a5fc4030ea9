#pragma once
// The errors of Warpscope. A message says what failed, where, and what to do about it, in one sentence that
// can be shown to a person as it stands. Libraries throw these and never exit.

#include <stdexcept>

namespace warpscope::core {

/// Something failed while running (exit code 1): a device call, a full disk, a lost connection.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that cannot be (exit code 2): unknown names, broken files, impossible
/// shapes. Thrown before anything is changed.
class BadInput : public Error {
 public:
  using Error::Error;
};

/// The device or the host has too little free memory for an allocation.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace warpscope::core
