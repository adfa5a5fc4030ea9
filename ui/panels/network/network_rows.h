#pragma once
// What the Network panel shows, without Dear ImGui: layers as cards, channels and filters as small pictures.

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/channel_activations.h"
#include "gpu/messages/inspection.h"
#include "gpu/models/model.h"
#include "ui/images/atlas.h"
#include "ui/images/conversion.h"

namespace warpscope::ui {

/// What the pictures are of.
enum class NetworkLook : unsigned char { outputs, weights, gradients };

/// In which order channels stand.
enum class ChannelOrder : unsigned char { index, mean, variance };

/// Figures of one picture's values.
struct ChannelFigures {
  float least = 0;
  float most = 0;
  float mean = 0;
  float variance = 0;
  std::size_t zeros = 0;  ///< values that are exactly 0: what a ReLU has cut off
};

/// Small pictures of one size: the channels of an output, or the filters of a layer at one input channel. Of
/// filters over three channels all three are kept, as colours.
struct Pictures {
  int count = 0;
  int height = 0;
  int width = 0;
  int planes = 1;             ///< 1, or 3 of colours
  std::vector<float> values;  ///< (count, height, width, planes)

  std::size_t size() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(planes);
  }
  const float* of(int picture) const { return values.data() + static_cast<std::size_t>(picture) * size(); }
};

/// The values at the ends of the colours. Where some are below 0 colours are blue - white - red around 0, else
/// viridis from 0; pictures of three planes are colours around grey.
struct ColourScale {
  float range = 1;  ///< the largest magnitude; above 0
  bool has_signs = false;
};

/// It was made with this network: layers, sizes and numbers are the same.
bool is_of(const training::Inspection& inspection, const models::Model& model);

/// "32x32x256", "128"
std::string shape_text(const training::LayerOutput& output);

/// The channels of an output.
Pictures channels_of(const training::LayerOutput& output);

/// The filters of the layer that makes output `output`, or their gradients; those of more than three input
/// channels at `in_channel`. Nothing of layers without weights, nor of gradients where there are none.
std::optional<Pictures> filters_of(const models::Model& model, const models::ParameterLayout& layout,
                                   const training::Inspection& inspection, std::size_t output, int in_channel,
                                   bool gradients);

inline constexpr const char* kNormsOfFilters =
    "L2 norms over all input channels, of the last step's gradient before clipping.";
inline constexpr const char* kNoGradients =
    "There are no gradients yet: the training came to this step without making it. The next step makes some.";
/// What stands in the place of the filters of a layer whose parameters are there, or of their gradients.
const char* why_no_filters(const training::Inspection& inspection, const models::Model& model,
                           std::size_t output);

/// How many input channels the filters of the layer that makes `output` have; 0 of layers without weights.
int filter_depth(const training::Inspection& inspection, const models::Model& model, std::size_t output);

std::vector<ChannelFigures> figures_of(const Pictures& pictures);

/// Figures of one filter and its gradient, over all input channels.
struct FilterFigures {
  float bias = 0;
  std::optional<float> bias_gradient = {};  ///< nothing where there are no gradients
  float norm = 0;                           ///< L2
  std::optional<float> gradient_norm = {};
};
FilterFigures figures_of_filter(const models::Model& model, const models::ParameterLayout& layout,
                                const training::Inspection& inspection, std::size_t output, int filter);

/// The pictures' numbers in the order in which they stand; the largest mean or variance first.
std::vector<int> ordered(const std::vector<ChannelFigures>& figures, ChannelOrder order);

/// The same, sorted anew only when there are other figures or another order is wanted.
class KeptOrder {
 public:
  /// `version` is another one whenever `figures` are others.
  const std::vector<int>& of(const std::vector<ChannelFigures>& figures, std::uint64_t version,
                             ChannelOrder order);

 private:
  std::vector<int> kept_;
  std::optional<std::uint64_t> version_;
  ChannelOrder order_ = ChannelOrder::index;
};

/// The scale of all pictures together, or of one.
ColourScale scale_of(const std::vector<ChannelFigures>& figures);
ColourScale scale_of(const ChannelFigures& figures);

/// The colour of the value at `from`, of which a picture has `planes`.
images::Rgba value_colour(const float* from, int planes, const ColourScale& scale);

/// The pixels of one picture, row by row.
std::vector<images::Rgba> colours_of(const Pictures& pictures, int picture, const ColourScale& scale);

/// A small picture of a whole output: as it is where it has three channels, else its channel with the largest
/// variance. Vectors stand in rows of a nearly square picture, whose missing pixels are transparent.
struct Overview {
  int width = 0;
  int height = 0;
  std::vector<images::Rgba> pixels;
};
Overview overview_of(const training::LayerOutput& output);

/// Where tiles stand: rows of `columns`, each as large as the scale allows.
struct TileLayout {
  int columns = 1;
  float width = 0;  ///< of a tile, in pixels of the window
  float height = 0;
};

/// The largest tiles of `width` x `height` pictures of which all `count` are seen in the room, but neither side
/// smaller than `least` nor the longer one larger than `most`. Small ones scroll; what is wider than the room is
/// made as narrow. As few columns as the rows need, so that the last row is no shorter than it must be.
TileLayout lay_out_tiles(int count, int width, int height, float room_width, float room_height, float gap,
                         float least, float most);

/// What stands over the images that excite a channel of the layer most, the longest first: there is room for one.
std::array<std::string, 3> exciting_sentences(const training::ChannelActivations& seen,
                                              const std::string& layer, std::size_t channel);

/// What there is to see.
struct NetworkView {
  std::shared_ptr<const training::Inspection> inspection;
  std::size_t output = 0;  ///< counts in Inspection::outputs
  NetworkLook look = NetworkLook::outputs;
  int in_channel = 0;
  bool scale_each = false;  ///< each tile has a scale of its own

  bool operator==(const NetworkView&) const = default;
};

/// The overviews of all outputs side by side, each in a square.
struct NetworkStrip {
  int side = 1;  ///< texels of a square
  std::vector<images::Point> sizes;
  std::vector<images::Rgba> pixels;  ///< (side, side * overviews)

  int width() const { return side * static_cast<int>(sizes.size()); }
};
NetworkStrip make_strip(const training::Inspection& inspection);

/// What is seen of it.
struct NetworkScene {
  NetworkView of;
  std::uint64_t number = 0;  ///< another one for each scene
  Pictures pictures;         ///< none of layers without weights
  std::vector<ChannelFigures> figures;
  ColourScale scale;  ///< of all pictures together
  int columns = 1;    ///< of the tiles, one a picture
  int rows = 1;
  std::vector<images::Rgba> tiles;            ///< (rows * height, columns * width)
  std::shared_ptr<const NetworkStrip> strip;  ///< the same one as long as the inspection is the same

  /// The scale of one picture's tile.
  ColourScale scale_of_tile(int picture) const;
};
/// `strip`: of the same inspection; nullptr: it is made.
NetworkScene make_scene(const models::Model& model, const models::ParameterLayout& layout, NetworkView view,
                        std::shared_ptr<const NetworkStrip> strip);

/// Has scenes made, one at a time; what was made before stays until the next one is there.
class NetworkScenes {
 public:
  explicit NetworkScenes(const models::Model& model);

  /// Another network from now on; what was made is seen no more.
  void set_model(const models::Model& model);
  /// Has the scene of this view made, if it is neither there nor under way; while another one is, the next call asks
  /// again.
  void want(const NetworkView& view);
  /// Takes what has been made. True if a thread has come to its end since the last call. Never waits.
  bool advance();
  /// Nothing is to be seen any more.
  void clear();
  /// nullptr before the first.
  const std::shared_ptr<const NetworkScene>& newest() const { return newest_; }

 private:
  struct Network {
    models::Model model;
    models::ParameterLayout layout;
  };

  std::shared_ptr<const Network> network_;
  std::shared_ptr<const NetworkScene> newest_;
  std::uint64_t made_ = 0;
  bool cleared_ = false;  ///< what is under way is seen no more
  std::future<NetworkScene> job_;
};

}  // namespace warpscope::ui
