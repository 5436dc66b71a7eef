//go:build race

package sendrecv_test

const raceBuild = true
