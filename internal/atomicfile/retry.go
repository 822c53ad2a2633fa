package atomicfile

import (
	"math/rand/v2"
	"os"
	"time"
)

// patience is for how long Retry tries.
const patience = 2 * time.Second

// Retry calls op, and calls it again for up to two seconds while its error is that of Windows for a
// file that somebody has open: a program that reads it, or one that looks for viruses. Windows has
// the same error for a file that the user has no right to, so that this is known two seconds late.
// On other systems, and after any other error, op is called once. The error is that of the last
// call.
func Retry(op func() error) error {
	const longest = 50 * time.Millisecond
	end := time.Now().Add(patience)
	pause := time.Millisecond
	for {
		err := op()
		if err == nil || !inUse(err) || time.Now().Add(pause).After(end) {
			return err
		}
		time.Sleep(pause)
		pause = min(pause+rand.N(pause), longest) // at random, for those who wait for each other
	}
}

// Rename is [os.Rename] with [Retry].
func Rename(from, to string) error { return Retry(func() error { return os.Rename(from, to) }) }

// Move renames a file with [Retry], unless there is one of the new name: then the error is
// [fs.ErrExist], and the file stays where it is. On file systems that have no hard links, it may
// replace one that comes at the same moment, but not on Windows.
func Move(from, to string) error { return Retry(func() error { return move(from, to) }) }

// Remove is [os.Remove] with [Retry].
func Remove(path string) error { return Retry(func() error { return os.Remove(path) }) }

// Open opens a file for reading, so that others can replace or remove it meanwhile; [os.Open] would
// keep them from that on Windows. See [Retry].
func Open(path string) (f *os.File, err error) {
	err = Retry(func() error {
		f, err = open(path)
		return err
	})
	return f, err
}
