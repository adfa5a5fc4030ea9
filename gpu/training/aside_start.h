#pragma once
// What a training makes a past step of another one again from (Surroundings::aside).

#include <cstdint>
#include <memory>

#include "gpu/engine/device_data.h"
#include "gpu/plan/measured.h"
#include "gpu/training/moments.h"
#include "gpu/training/variant_history.h"

namespace warpscope::training {

struct AsideStart {
  std::uint64_t to = 0;
  std::uint64_t generation = 0;  ///< of the other training
  Moment moment;                 ///< with its state
  MomentNotes notes;
  VariantHistory variants;
  plan::MeasuredChoices measured;  ///< EngineOptions::measured
  std::shared_ptr<const DeviceData> device_data;
};

}  // namespace warpscope::training
