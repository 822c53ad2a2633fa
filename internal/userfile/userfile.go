// Package userfile reads files that a user or somebody else names.
//
// Who names a file decides what it may be.
//
//   - [OpenArgument] and [ReadArgument] are for a path that the user has typed for this one read.
//     The file may be anything that the user can read, such as the pipe of a process substitution,
//     as in --header X:@<(command), or /dev/stdin. Opening a pipe waits for its writer.
//   - All other functions are for a path that another file names, that somebody else can replace,
//     or that is read more than once: one in a configuration, a directory, an archive, and every
//     path that is watched. The file must be a regular one. Opening it never blocks and has no
//     effect on a device; a FIFO, a device, a socket and a directory are a [*NotRegularError].
//
// [ReadSecret] and [OthersMay] check that other users have no access to a file.
//
// Functions that return a content take the maximum number of its bytes, and fail with a
// [*TooLargeError] for more.
package userfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// MaxPEM is the limit of files with certificates and keys in bytes.
const MaxPEM = 16 << 20

// A NotRegularError reports that a file is not a regular one. It is the Err of an [fs.PathError].
type NotRegularError struct{ Mode fs.FileMode }

func (e *NotRegularError) Error() string { return "this is not a regular file" }

// A TooLargeError reports that a file has more bytes than it may have.
type TooLargeError struct {
	Path  string
	Limit int64
}

func (e *TooLargeError) Error() string {
	if e.Limit >= 1<<20 && e.Limit%(1<<20) == 0 {
		return fmt.Sprintf("%s has more than %d MiB", e.Path, e.Limit>>20)
	}
	return fmt.Sprintf("%s has more than %d bytes", e.Path, e.Limit)
}

// Open opens a regular file for reading. Others may replace or remove it meanwhile, on Windows too.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return openFile(path, os.Stat, open, checkRegular)
}

// OpenIn opens a regular file in a directory for reading. Links that lead out of the directory are
// an error.
func OpenIn(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return openFile(name, dir.Stat, func(name string) (*os.File, error) {
		return dir.OpenFile(name, flags, 0)
	}, checkRegular)
}

// OpenFS opens a regular file of fsys for reading. The file system decides where links may lead. If
// it is not that of [FS], the file must not be replaced by a pipe at this very moment, because
// opening it could block.
func OpenFS(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	return openFile(name, func(name string) (fs.FileInfo, error) { return fs.Stat(fsys, name) },
		fsys.Open, checkRegular)
}

// openFile opens a file and checks its type: before, because opening a device can have effects, and
// after, in case it has been replaced.
func openFile[F fs.File](name string, stat func(string) (fs.FileInfo, error),
	open func(string) (F, error), check func(string, fs.FileInfo) error) (none F, _ fs.FileInfo,
	err error) {
	info, err := stat(name)
	if e, ok := err.(*fs.PathError); ok {
		e.Op = "open" // what the caller does, and knows
	}
	if err == nil {
		err = check(name, info)
	}
	if err != nil {
		return none, nil, err
	}
	f, err := open(name)
	if err != nil {
		return none, nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = check(name, info)
	}
	if err != nil {
		f.Close()
		return none, nil, err
	}
	return f, info, nil
}

func checkRegular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "read", Path: name, Err: &NotRegularError{info.Mode()}}
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return content(f, info, path, limit)
}

// ReadFS returns the content of a regular file of fsys of at most limit bytes. See [OpenFS].
func ReadFS(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, info, err := OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return content(f, info, name, limit)
}

func content(f io.Reader, info fs.FileInfo, name string, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, &TooLargeError{name, limit}
	}
	return ReadAll(f, name, limit)
}

// ReadAll returns the rest of r, at most limit bytes. name is the name of r in errors.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, &TooLargeError{name, limit}
	}
	return data, nil
}

// OpenArgument opens a file that the user has typed. The file must not be a directory.
func OpenArgument(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	return f, nil
}

// ReadArgument returns the content of a file that the user has typed, at most limit bytes.
func ReadArgument(path string, limit int64) ([]byte, error) {
	f, err := OpenArgument(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path, limit)
}

// Text returns the content of a file of text or JSON without the UTF-8 byte order mark that some
// editors write before it. Text(Read(path, limit)) is the text of a file.
func Text(content []byte, err error) ([]byte, error) { return jsonscan.TrimBOM(content), err }

// FS returns the file system of dir. Its files other than directories are opened as by [OpenIn].
func FS(dir *os.Root) fs.FS { return rootFS{dir.FS().(fileSystem), dir} }

// fileSystem is what the file system of an [os.Root] implements.
type fileSystem interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

type rootFS struct {
	fileSystem
	dir *os.Root
}

func (f rootFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	opened, _, err := openFile(name, f.Stat, func(name string) (*os.File, error) {
		return f.dir.OpenFile(name, flags, 0)
	}, checkRegularOrDirectory)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func checkRegularOrDirectory(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return nil
	}
	return checkRegular(name, info)
}
