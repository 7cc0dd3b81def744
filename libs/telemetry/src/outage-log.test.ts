import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogger, createOutageLog } from './index.ts'

test('logs the first failure of each cause, and later only how many followed', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const lines: object[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) }
  const logger = createLogger({ service: 'test', level: 'info', destination })
  const outage = createOutageLog(logger, { first: 'it failed', further: 'it failed again' })

  for (const requestId of ['a', 'b', 'c']) outage.failed(new Error('no answer'), { requestId })
  outage.failed(new Error('too late'), { requestId: 'd' })
  vi.advanceTimersByTime(10_000)
  // Nothing failed in these ten seconds, so the next failure is a first one again.
  vi.advanceTimersByTime(10_000)
  outage.failed(new Error('no answer'), { requestId: 'e' })

  expect(lines).toMatchObject([
    { level: 'warn', msg: 'it failed', requestId: 'a', err: { message: 'no answer' } },
    { level: 'warn', msg: 'it failed', requestId: 'd', err: { message: 'too late' } },
    { level: 'warn', msg: 'it failed again', count: 2, err: { message: 'no answer' } },
    { level: 'warn', msg: 'it failed', requestId: 'e', err: { message: 'no answer' } },
  ])
})
