#pragma once
// Libraries that are opened when they are first needed, so that the program also starts where there are none.

#include <initializer_list>
#include <string>

#include <dlfcn.h>

namespace warpscope::core {

/// Stays open as long as the process lives.
class OpenedLibrary {
 public:
  /// Opens the first of `names` that there is.
  explicit OpenedLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }
  bool is_open() const { return library_ != nullptr; }

  /// Sets `function` to the library's `name`; nullptr, and `name` is missing(), if it has none.
  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) missing_ = name;
  }
  /// "" if all that was looked for is there.
  const std::string& missing() const { return missing_; }

 private:
  void* library_ = nullptr;
  std::string missing_;
};

}  // namespace warpscope::core
