#pragma once
// The functions of cuBLASLt that the cuBLAS variants call. The library is opened at the first use and not
// linked, so that the program starts on machines that lack it.

#include <string>

#include <cublasLt.h>

namespace warpscope::ops::linear {

struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusName) status_name;
  decltype(&cublasLtMatmulDescCreate) create_description;
  decltype(&cublasLtMatmulDescDestroy) destroy_description;
  decltype(&cublasLtMatmulDescSetAttribute) set_description;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose_algorithm;
  decltype(&cublasLtMatmul) multiply;
};

/// Why cublaslt() would fail, as a sentence, or "".
const std::string& cublaslt_missing();

/// Throws core::Error with cublaslt_missing().
const CublasLt& cublaslt();

}  // namespace warpscope::ops::linear
