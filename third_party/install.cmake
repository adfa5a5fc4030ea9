include(GNUInstallDirs)

install(TARGETS warpscope RUNTIME)
install(FILES assets/warpscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(FILES assets/warpscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
