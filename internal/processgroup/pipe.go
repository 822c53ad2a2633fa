package processgroup

import "os"

// openPipes opens pipes to a process's stdin and from its stdout and stderr, in this order. theirs
// are the ends for the process, ours those for this program, which honour deadlines.
func openPipes() (theirs, ours [3]*os.File, err error) {
	for i := range ours {
		if theirs[i], ours[i], err = openPipe(i == 0); err != nil {
			CloseAll(theirs[:i]...)
			CloseAll(ours[:i]...)
			return theirs, ours, err
		}
	}
	return theirs, ours, nil
}

// CloseAll closes files and ignores errors.
func CloseAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}
