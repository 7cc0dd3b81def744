/** The image's health check: `health.ts <url>` prints the response and exits with 0 when its status is 200. The image has no curl. */
const response = await fetch(process.argv[2]!, { signal: AbortSignal.timeout(4_000) })
process.stdout.write(`${await response.text()}\n`)
if (!response.ok) process.exitCode = 1
