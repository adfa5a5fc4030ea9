#pragma once
// A network at one moment of its training, and the images that its features are judged by.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/core/not_sent.h"
#include "gpu/core/types.h"
#include "gpu/data/dataset.h"
#include "gpu/messages/data_view.h"
#include "gpu/models/model.h"

namespace warpscope::features {

/// Either all of it is given, or only `run` and `device`: then its `checkpoint` and its data set are read.
struct Subject {
  std::filesystem::path run;  ///< folder of a run; empty where the rest is given
  std::string checkpoint;     ///< of `run`, as runs::find_checkpoint() takes it; "" for the newest
  std::string device;         ///< as core::open_device() takes it
  models::Model model;
  core::Precision precision = core::Precision::fp32;
  core::NotSent<std::shared_ptr<const std::vector<float>>> parameters;  ///< in models::ParameterLayout
  std::uint64_t step = 0;
  std::shared_ptr<const training::DataView> data;  ///< the whole of it
};

/// What is to be used of `subject`: itself, or what its run holds. Throws core::BadInput if the run has no checkpoint
/// or its data are not there.
Subject loaded(const Subject& subject);

/// Finds it in a job's thread, once the job begins.
using FindSubject = std::function<Subject(const classifiers::Watch& watch)>;

/// At most `most` images (0: all), at equal distances in the set, and their places in it.
struct Sample {
  data::ImageSet set;
  std::vector<std::int64_t> places;
};
Sample sample_of(const data::ImageSet& set, std::int64_t most);

/// The first `most` images, or all where there are no more.
data::ImageSet first_of(const data::ImageSet& set, std::int64_t most);

}  // namespace warpscope::features
