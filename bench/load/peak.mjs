// Preloaded into a program that ends by itself: reports its peak memory in bytes when it exits.
process.on('exit', () => process.send?.(process.resourceUsage().maxRSS * 1024))
