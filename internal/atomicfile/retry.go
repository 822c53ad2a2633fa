package atomicfile

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"time"
)

// maxWait is how long Retry tries.
const maxWait = 2 * time.Second

// Retry calls op, and repeats it for up to two seconds while it fails with the error that Windows
// returns for a file in use, such as by a reader or a virus scanner. Windows returns the same error
// for a file without permission, which is therefore reported two seconds late. On other systems,
// and after any other error, op is called once. Retry returns the error of the last call.
func Retry(op func() error) error {
	const maxPause = 50 * time.Millisecond
	end := time.Now().Add(maxWait)
	pause := time.Millisecond
	for {
		err := op()
		if err == nil || !inUse(err) || time.Now().Add(pause).After(end) {
			return err
		}
		time.Sleep(pause)
		// random, because callers may wait for each other
		pause = min(pause+rand.N(pause), maxPause)
	}
}

// Rename is [os.Rename] with [Retry].
func Rename(from, to string) error { return Retry(func() error { return os.Rename(from, to) }) }

// Move renames a file with [Retry]. If a file of the new name exists, Move changes nothing and the
// error is [fs.ErrExist]. On a file system without hard links, except on Windows, it may replace a
// file that is created at the same moment.
func Move(from, to string) error { return Retry(func() error { return move(from, to) }) }

// Remove is [os.Remove] with [Retry].
func Remove(path string) error { return Retry(func() error { return os.Remove(path) }) }

// Open opens a file for reading and lets others replace or remove it meanwhile, which [os.Open]
// prevents on Windows. See [Retry].
func Open(path string) (f *os.File, err error) {
	err = Retry(func() error {
		f, err = open(path)
		return err
	})
	return f, err
}

// OpenAppend opens a file for appending, and creates it with mode if needed. Like [Open] it lets
// others rename or remove the file meanwhile.
func OpenAppend(path string, mode fs.FileMode) (f *os.File, err error) {
	err = Retry(func() error {
		f, err = openAppend(path, mode)
		return err
	})
	return f, err
}
