/** The image's health check: `health.ts <url>` ends with 0 when it answers 200. Nothing else in the image can ask. */
const reply = await fetch(process.argv[2]!, { signal: AbortSignal.timeout(4_000) })
const text = await reply.text()
if (!reply.ok) {
  process.stderr.write(`${text}\n`)
  process.exitCode = 1
}
