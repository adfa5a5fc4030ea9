# Unity builds: with CMAKE_UNITY_BUILD (./run, ./test and the presets without CUDA have it) sixteen files are compiled
# as one, in a third of the time. Their private names meet then: where a build says that one is redefined or ambiguous,
# rename it, share what both files have, or add one of them to these, which are compiled by themselves.
set_source_files_properties(
  ui/interop/cuda_shared_images.cpp
  ui/paint/x11_presenter.cpp
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# warpscope_spread(NAME LIST): for a unity build of NAME from the files LIST: files that stand beside each other, as
# variants of an op do, share names. Each group takes every so many-th of the list.
function(warpscope_spread name list)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  list(LENGTH ${list} count)
  math(EXPR stride "(${count} + 15) / 16")
  set(index 0)
  foreach(file IN LISTS ${list})
    math(EXPR group "${index} % ${stride}")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP group_${group})
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()

# warpscope_join_kernels(NAME LIST): in a unity build the kernel files of NAME in LIST give way to files that include
# several each: the headers of one take six seconds, more than most kernels do. CMake itself joins none for CUDA. Left
# out are those that take longest, with which others would wait on a machine of many cores.
function(warpscope_join_kernels name list)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(short ${${list}})
  set(long "conv2d_mma_(backward_(input|weights)|forward|general)|fused_(simt|mma_[a-z0-9]+)|linear_split_k_[a-z]+")
  list(FILTER short EXCLUDE REGEX "/(${long})\\.cu$")
  list(LENGTH short count)
  if(count LESS 2)
    return()
  endif()
  list(REMOVE_ITEM ${list} ${short})
  if(name MATCHES "_hopper$")
    set(most 3) # whose kernels take longer
  else()
    set(most 6)
  endif()
  math(EXPR stride "(${count} + ${most} - 1) / ${most}") # more than any op has: its files share names
  set(index 0)
  foreach(file IN LISTS short)
    math(EXPR group "${index} % ${stride}")
    string(APPEND joined_${group} "#include \"${file}\"\n")
    math(EXPR index "${index} + 1")
  endforeach()
  math(EXPR last "${stride} - 1")
  foreach(group RANGE ${last})
    set(file ${CMAKE_BINARY_DIR}/kernels/${name}_${group}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${joined_${group}}" @ONLY)
    list(APPEND ${list} ${file})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
