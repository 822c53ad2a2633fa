package rootdir

import (
	"os"
	"strings"
)

// A cursor is a position in a directory tree that moves one path element at a time. It keeps the
// last directories of its path open, so that the cost of a step does not depend on the depth:
// os.Root opens every directory of a path.
type cursor struct {
	root  *os.Root
	path  []string
	open  []*os.Root // path[:first+1], path[:first+2], …; that of the whole path may be missing
	first int        // index in path of the last element of open[0]
}

const maxOpen = 16 // maximum number of directories that a cursor keeps open

// dir returns the directory at the cursor, which the cursor closes.
func (c *cursor) dir() (*os.Root, error) {
	if len(c.path) == 0 {
		return c.root, nil
	}
	if len(c.open) == 0 {
		dir, err := c.root.OpenRoot(AsDir(c.String()))
		if err != nil {
			return nil, err
		}
		c.open, c.first = append(c.open, dir), len(c.path)-1
	}
	for c.first+len(c.open) < len(c.path) {
		dir, err := c.open[len(c.open)-1].OpenRoot(AsDir(c.path[c.first+len(c.open)]))
		if err != nil {
			return nil, err
		}
		if c.open = append(c.open, dir); len(c.open) > maxOpen {
			c.open[0].Close()
			c.open = c.open[1:]
			c.first++
		}
	}
	return c.open[len(c.open)-1], nil
}

// down moves to an element of the directory. The element is not opened until dir is called.
func (c *cursor) down(element string) { c.path = append(c.path, element) }

// up moves to the parent directory. It returns false if that is outside the root.
func (c *cursor) up() bool {
	if len(c.path) == 0 {
		return false
	}
	if last := len(c.open) - 1; last >= 0 && c.first+last+1 == len(c.path) {
		c.open[last].Close()
		c.open = c.open[:last]
	}
	c.path = c.path[:len(c.path)-1]
	return true
}

// String returns the path.
func (c *cursor) String() string {
	if len(c.path) == 0 {
		return "."
	}
	return strings.Join(c.path, "/")
}

func (c *cursor) close() {
	for _, dir := range c.open {
		dir.Close()
	}
}
