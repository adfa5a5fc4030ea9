// Opens cuBLASLt by its name and finds the functions of cublaslt_library.h in it, once in the life of the
// program.

#if WARPSCOPE_HAVE_CUBLAS

#include <dlfcn.h>

#include "gpu/core/error.h"
#include "gpu/ops/linear/cublaslt_library.h"

namespace warpscope::ops::linear {
namespace {

#define WARPSCOPE_TEXT_OF(macro) WARPSCOPE_TEXT(macro)
#define WARPSCOPE_TEXT(text) #text

// Where to look, in this order. The major version is part of the name: another one has other types.
constexpr const char* kNames[] = {"libcublasLt.so." WARPSCOPE_TEXT_OF(CUBLAS_VER_MAJOR),
#ifdef WARPSCOPE_CUBLASLT_LIBRARY
                                  WARPSCOPE_CUBLASLT_LIBRARY
#endif
};

struct Opened {
  CublasLt functions{};
  std::string missing;

  template <class Function>
  void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr) missing = std::string("cuBLASLt on this machine has no ") + name;
  }

  Opened() {
    void* library = nullptr;
    for (const char* name : kNames) {
      // Never closed: its threads and state may outlive every use of it here.
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) {
      missing = std::string("cuBLASLt (") + kNames[0] +
                ") is not on this machine; install CUDA's libraries or name their folder in LD_LIBRARY_PATH";
      return;
    }
    find(library, "cublasLtCreate", functions.create);
    find(library, "cublasLtDestroy", functions.destroy);
    find(library, "cublasLtGetStatusName", functions.status_name);
    find(library, "cublasLtMatmulDescCreate", functions.create_description);
    find(library, "cublasLtMatmulDescDestroy", functions.destroy_description);
    find(library, "cublasLtMatmulDescSetAttribute", functions.set_description);
    find(library, "cublasLtMatrixLayoutCreate", functions.create_layout);
    find(library, "cublasLtMatrixLayoutDestroy", functions.destroy_layout);
    find(library, "cublasLtMatmulPreferenceCreate", functions.create_preference);
    find(library, "cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
    find(library, "cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
    find(library, "cublasLtMatmulAlgoGetHeuristic", functions.choose_algorithm);
    find(library, "cublasLtMatmul", functions.multiply);
  }
};

const Opened& opened() {
  static const Opened once;
  return once;
}

}  // namespace

const std::string& cublaslt_missing() {
  return opened().missing;
}

const CublasLt& cublaslt() {
  if (!opened().missing.empty()) throw core::Error(opened().missing);
  return opened().functions;
}

}  // namespace warpscope::ops::linear

#endif  // WARPSCOPE_HAVE_CUBLAS
