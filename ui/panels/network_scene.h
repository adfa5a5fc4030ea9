#pragma once
// The pictures of the Network panel, made and coloured by a thread of their own, so that no frame waits for them.

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "gpu/messages/inspection.h"
#include "gpu/models/model.h"
#include "ui/images/atlas.h"
#include "ui/panels/network_rows.h"

namespace warpscope::ui {

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

  /// Of one picture's tile.
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
