#pragma once
// All panels of the window, and what several of them share.

#include "ui/jobs/features_controller.h"
#include "ui/jobs/laboratory_controller.h"
#include "ui/jobs/map_controller.h"
#include "ui/panels/curves/loss_panel.h"
#include "ui/panels/kernels/kernels_panel.h"
#include "ui/panels/kernels/ladder_panel.h"
#include "ui/panels/kernels/memory_panel.h"
#include "ui/panels/kernels/own_kernels_panel.h"
#include "ui/panels/kernels/time_panel.h"
#include "ui/panels/laboratory/bench_panel.h"
#include "ui/panels/laboratory/determinism_panel.h"
#include "ui/panels/laboratory/features_panel.h"
#include "ui/panels/laboratory/verify_panel.h"
#include "ui/panels/network/distributions_panel.h"
#include "ui/panels/network/latent_panel.h"
#include "ui/panels/network/network_panel.h"
#include "ui/panels/pictures/images_panel.h"
#include "ui/panels/pictures/predictions_panel.h"
#include "ui/panels/runs/runs_panel.h"
#include "ui/panels/training/ranks_panel.h"
#include "ui/panels/training/training_panel.h"
#include "ui/panels/trainings.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

struct Panels {
  /// `model` is what the laboratory measures: the one that is trained.
  Panels(const models::Model& model, Trainings& shown)
      : trainings(shown),
        laboratory(model),
        judging(model),
        mapping(model),
        loss(shown),
        kernels(model),
        time(model),
        memory(model),
        network(model),
        distributions(model) {}

  /// Shows another network from now on.
  void follow(const models::Model& model) {
    laboratory.follow(model);
    judging.follow(model);
    mapping.follow(model);
    kernels.follow(model);
    time.follow(model);
    memory.follow(model);
    network.follow(model);
    distributions.follow(model);
  }

  /// Frees what belongs to OpenGL and CUDA; before the context goes.
  void shutdown() {
    images.shutdown();
    training.shutdown();
    predictions.shutdown();
    network.shutdown();
    distributions.shutdown();
    latent.shutdown();
    features.shutdown();
  }

  Trainings& trainings;
  PlotSettings plot;  ///< how `loss` shows its curves
  LaboratoryController laboratory;
  FeaturesController judging;  ///< for `features`
  MapController mapping;       ///< for `latent`
  LossPanel loss;
  ImagesPanel images;            ///< of models that reconstruct
  PredictionsPanel predictions;  ///< of models that classify: in its place
  KernelsPanel kernels;
  TimePanel time;
  MemoryPanel memory;
  NetworkPanel network;
  DistributionsPanel distributions;
  LatentPanel latent;
  FeaturesPanel features;
  BenchPanel bench;
  VerifyPanel verify;
  DeterminismPanel determinism;
  LadderPanel ladder;
  RunsPanel runs;
  RanksPanel ranks;
  OwnKernelsPanel own_kernels;
  TrainingPanel training;
};

}  // namespace warpscope::ui
