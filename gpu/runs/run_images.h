#pragma once
// The folder images/ of a run: the shown images as PNG, so that another process can show them and a person
// can look at them later.
//
//   originals.png         the held-out images as a grid, without gaps
//   step-000001234.png    what the network made of them after so many steps, in the same places
//   index.json            size and number of the images, and for each picture its step and the errors of its
//   images
//
// What begins with "predictions" is run_predictions.h's.
//
// The first and the newest picture stay; of those between, so many that the folder stays small, at steps that
// lie further apart the later they are.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpu/messages/image_exchange.h"

namespace warpscope::training {

/// Pictures of steps, beside originals.png and index.json.
inline constexpr std::size_t kMostPictures = 18;

/// What index.json holds.
struct ImageIndex {
  struct Picture {
    std::uint64_t step = 0;
    std::vector<float> errors;
  };
  ImageShape shape;
  int columns = 0;  ///< of the grid; its last row may not be full
  std::uint64_t generation = 0;
  std::vector<Picture> pictures;  ///< in the order of their steps
};

/// from_json throws core::BadInput that names what is wrong; `index` is then unchanged.
void to_json(nlohmann::json& json, const ImageIndex& index);
void from_json(const nlohmann::json& json, ImageIndex& index);

/// "step-000001234.png"
std::string picture_name(std::uint64_t step);

/// Which of `steps` (rising) is to go, so that one fewer is left: not the first and not the last, but the one
/// that leaves the smallest gap, gaps being measured as ratios. For three steps or more.
std::size_t least_missed(const std::vector<std::uint64_t>& steps);

/// Writes the folder images/ of a run. For one thread.
class RunImages {
 public:
  /// `folder` is the run's. Nothing is read or written yet.
  explicit RunImages(const std::filesystem::path& folder);

  /// Adds a picture. Pictures of other generations and of steps from this one on (a training that was reset,
  /// or went back) go. Throws core::Error if something cannot be written; what was there before then stays
  /// readable.
  void write(const ShownImages& images);

 private:
  void open();
  void start_anew(const ShownImages& images);
  void write_index() const;
  void remove_unlisted() const;

  std::filesystem::path folder_;
  bool opened_ = false;
  ImageIndex index_;
};

/// index.json of a run. Throws core::BadInput if it is damaged or not there.
ImageIndex read_image_index(const std::filesystem::path& folder);

/// One of its pictures, with the originals; values are as exact as PNG's 8 bits. Throws core::BadInput if a
/// file is damaged, of another size or not there.
ShownImages read_shown_images(const std::filesystem::path& folder, const ImageIndex& index,
                              std::size_t picture);

}  // namespace warpscope::training
