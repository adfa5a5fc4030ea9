# Unity builds: with CMAKE_UNITY_BUILD (the presets without CUDA and .ci/run have it) eight files are compiled as one, in less
# than half the time. Their private names meet then: where a build says that one is redefined or ambiguous, rename it, share
# what both files have, or add one of them to these, which are compiled by themselves.
set_source_files_properties(
  app/bench_tables.cpp
  gpu/data/builtin_digits.cpp
  gpu/data/cifar10.cpp
  gpu/data/cifar100.cpp
  gpu/data/cifar_records.cpp
  gpu/data/idx_set.cpp
  gpu/export/export_trace.cpp
  gpu/features/feature_trial.cpp
  gpu/features/judgement.cpp
  gpu/maps/graph.cpp
  gpu/maps/neighbours.cpp
  gpu/maps/umap.cpp
  gpu/observers/held_out_batches.cpp
  gpu/observers/inspection_pass.cpp
  gpu/profiling/cases.cpp
  gpu/runs/run_predictions.cpp
  gpu/runs/run_status.cpp
  gpu/runs/run_view.cpp
  gpu/runs/summary.cpp
  gpu/settings/optimizer_settings.cpp
  ui/paint/x11_presenter.cpp
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# warpscope_spread(LIST): for a unity build, takes files that stand beside each other apart: variants of an op share names.
function(warpscope_spread list)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  list(LENGTH ${list} count)
  math(EXPR stride "(${count} + 7) / 8")
  set(spread "")
  if(stride GREATER 0)
    math(EXPR last_start "${stride} - 1")
    foreach(start RANGE ${last_start})
      if(start LESS count)
        math(EXPR last "${count} - 1")
        foreach(index RANGE ${start} ${last} ${stride})
          list(GET ${list} ${index} file)
          list(APPEND spread ${file})
        endforeach()
      endif()
    endforeach()
  endif()
  set(${list} ${spread} PARENT_SCOPE)
endfunction()
