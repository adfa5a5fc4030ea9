include(GNUInstallDirs)

install(TARGETS warpscope RUNTIME)
install(FILES assets/warpscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(DIRECTORY assets/models DESTINATION ${CMAKE_INSTALL_DATADIR}/warpscope)
install(FILES assets/warpscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
