# Kernels that use instructions of compute capability 9.0 only (wgmma, TMA) are built as sm_90a, whatever other
# architectures the rest is built for. Sets WARPSCOPE_HAVE_HOPPER, where 90 is one of them; warpscope_add_hopper() adds
# the files hopper_*.cu and cuda_*hopper*.cpp of a folder to a library.
set(WARPSCOPE_HAVE_HOPPER OFF)
if(WARPSCOPE_HAVE_CUDA AND "${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90")
  set(WARPSCOPE_HAVE_HOPPER ON)
endif()

set(WARPSCOPE_HOPPER_SOURCES "/(hopper_[a-z0-9_]*\\.cu|cuda_[a-z0-9_]*hopper[a-z0-9_]*\\.cpp)$")

function(warpscope_add_hopper library folder)
  if(NOT WARPSCOPE_HAVE_HOPPER)
    return()
  endif()
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/hopper_*.cu)
  file(GLOB_RECURSE hosts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/cuda_*hopper*.cpp)
  warpscope_join_kernels(${library}_hopper kernels)
  add_library(${library}_hopper OBJECT ${kernels})
  set_target_properties(${library}_hopper PROPERTIES CUDA_ARCHITECTURES OFF)
  target_compile_options(${library}_hopper PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_90a,code=sm_90a>")
  target_link_libraries(${library}_hopper PRIVATE warpscope_flags warpscope_core)
  target_sources(${library} PRIVATE ${hosts} $<TARGET_OBJECTS:${library}_hopper>)
endfunction()
