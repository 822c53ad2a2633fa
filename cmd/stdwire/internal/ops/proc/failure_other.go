//go:build !windows

package proc

var systemCauses []cause
