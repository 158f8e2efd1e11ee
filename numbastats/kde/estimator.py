class KDE: pass
