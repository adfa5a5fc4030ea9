# Installation, and a build folder laid out like it: the program looks for its assets in share/warpscope/assets relative
# to itself (gpu/core/paths.h), which in the build folder is a link into the source tree, so that edits show at once.
include(GNUInstallDirs)

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/warpscope)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/assets ${CMAKE_BINARY_DIR}/share/warpscope/assets SYMBOLIC)

install(TARGETS warpscope RUNTIME)
install(DIRECTORY assets/ DESTINATION ${CMAKE_INSTALL_DATADIR}/warpscope/assets PATTERN warpscope.desktop EXCLUDE)
install(FILES assets/warpscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(FILES assets/warpscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
