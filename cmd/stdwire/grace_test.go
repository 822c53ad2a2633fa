//go:build !race

package main

// grace is what this program may need to end beyond its time: nothing.
const grace = 0
