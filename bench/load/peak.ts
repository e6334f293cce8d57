// Preloaded into a program that ends by itself: reports its peak memory.
process.on('exit', () => process.send?.(process.resourceUsage().maxRSS * 1024))
