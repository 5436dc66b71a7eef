//go:build !race

package text

const raceBuild = false
