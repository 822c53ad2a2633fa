package lineedit

import "syscall"

const getMode, setMode = syscall.TIOCGETA, syscall.TIOCSETA
