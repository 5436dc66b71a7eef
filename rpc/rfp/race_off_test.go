//go:build !race

package rfp_test

const raceBuild = false
