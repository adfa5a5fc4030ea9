# CUDA: optional. Sets WARPSCOPE_HAVE_CUDA and defines warpscope_cudart (empty without CUDA).
# AUTO builds the CUDA variants where they can run, that is where nvcc and a GPU are, or where architectures are asked
# for; ON builds them anywhere.
# Architectures: CMAKE_CUDA_ARCHITECTURES or CUDAARCHS in the environment; without these the machine's own GPU, and
# where there is none, 80 and 90 with PTX for what comes after.
add_library(warpscope_cudart INTERFACE)
set(WARPSCOPE_HAVE_CUDA OFF)

# Sets `found` to whether this machine has a GPU of NVIDIA, and `architectures` to theirs, "90" or "80;90", where
# nvidia-smi knows them.
function(warpscope_find_gpu found architectures)
  execute_process(
    COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(numbers "")
  if(failed EQUAL 0 AND capabilities MATCHES "^[0-9]+\\.[0-9]+")
    string(REPLACE "." "" capabilities "${capabilities}")
    string(REGEX MATCHALL "[0-9]+" numbers "${capabilities}")
    list(REMOVE_DUPLICATES numbers)
  endif()
  file(GLOB nodes "/dev/nvidia[0-9]*")
  if(numbers OR nodes)
    set(${found} TRUE PARENT_SCOPE)
  else()
    set(${found} FALSE PARENT_SCOPE)
  endif()
  set(${architectures} "${numbers}" PARENT_SCOPE)
endfunction()

# ./run shows the line that begins with "Building ".
if(WARPSCOPE_CUDA STREQUAL "OFF")
  message(STATUS "Building the CPU variants only: WARPSCOPE_CUDA is OFF")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  warpscope_find_gpu(has_gpu gpu_architectures)
  if(NOT has_gpu AND NOT WARPSCOPE_CUDA STREQUAL "ON")
    message(STATUS "Building the CPU variants only: there is no GPU (WARPSCOPE_CUDA=ON builds the CUDA variants too, "
                   "CUDAARCHS=90 for one architecture)")
    return()
  endif()
  if(NOT gpu_architectures)
    set(gpu_architectures 80 90)
  endif()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(WARPSCOPE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WARPSCOPE_CUDA is ON, but no CUDA compiler was found; put nvcc on the PATH or set "
                        "CMAKE_CUDA_COMPILER")
  elseif(DEFINED ENV{CUDACXX})
    message(STATUS "Building the CPU variants only: $ENV{CUDACXX} does not work")
  else()
    message(STATUS "Building the CPU variants only: no nvcc on the PATH or in /usr/local/cuda/bin")
  endif()
  return()
endif()
if(gpu_architectures)
  set(CMAKE_CUDA_ARCHITECTURES "${gpu_architectures}" CACHE STRING "CUDA architectures")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # CMake before 3.26 does not know that nvcc takes C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(WARPSCOPE_HAVE_CUDA ON)
target_link_libraries(warpscope_cudart INTERFACE CUDA::cudart_static)
list(JOIN CMAKE_CUDA_ARCHITECTURES " and " architectures)
message(STATUS "Building the CPU and the CUDA variants, these for compute capability ${architectures} "
               "(CUDAARCHS names others)")
