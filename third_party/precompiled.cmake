# Precompiled headers: those of the standard library and fmt take two thirds of the time of a file that uses them.
# Headers of our own are not in them, since a change of one would rebuild everything. Files include what they use
# nevertheless; clang-tidy, which cannot read another compiler's precompiled headers, checks them with
# CMAKE_DISABLE_PRECOMPILE_HEADERS.
set(precompiled_headers
    <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <optional> <span> <stdexcept> <string> <string_view> <thread> <utility>
    <vector>)

# warpscope_precompiled(NAME LINKED HEADER...): a target whose headers others reuse; LINKED are the libraries that they
# come from.
function(warpscope_precompiled name linked)
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "// Only its headers matter.\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE warpscope_flags ${linked})
  target_precompile_headers(${name} PRIVATE ${precompiled_headers} ${ARGN})
endfunction()

# GCC reads them only where the code is position-independent in the same way; CMake would give executables -fPIE.
function(warpscope_reuse_headers target headers)
  target_precompile_headers(${target} REUSE_FROM ${headers})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fPIC>")
endfunction()
