//go:build !race

package tcp

const raceBuild = false
