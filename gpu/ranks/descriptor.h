#pragma once
// A file descriptor with an owner.

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace warpscope::ranks {

/// Closes its file descriptor when it goes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }  ///< -1: none
  bool open() const { return number_ >= 0; }
  /// The number, which is the caller's to close from now on.
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// The same file, by a number that is none of standard input, output and error, even where a program was started
/// without them. Closed on exec. Not open, with errno set, where `given` is not or there are no more numbers.
inline Descriptor past_standard_ones(Descriptor given) {
  if (!given.open() || given.number() > STDERR_FILENO) return given;
  return Descriptor(::fcntl(given.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace warpscope::ranks
