import { expect, test } from 'vitest'
import { createFailureLog, createLogger } from './index.ts'

function failureLog() {
  const lines: { level: string; msg: string; err: { message: string } }[] = []
  const logger = createLogger({
    service: 'test',
    level: 'info',
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  })
  return {
    failures: createFailureLog(logger, 'it cannot work', { recovered: 'it works again' }),
    logged: () => lines.filter(({ err }) => err).map(({ err }) => err.message),
    lines,
  }
}

const refused = (port: number) => Object.assign(new Error(`connect ${port}`), { code: 'ECONNREFUSED' })

test('logs the first failure of a cause, and the next one after a success', () => {
  const { failures, lines, logged } = failureLog()
  for (const port of [1, 2, 3]) failures.failed(refused(port))
  expect(lines).toMatchObject([{ level: 'warn', msg: 'it cannot work' }])
  failures.succeeded()
  failures.failed(refused(4))
  expect(logged()).toEqual(['connect 1', 'connect 4'])
})

test('logs a failure with another cause, with its level', () => {
  const { failures, lines } = failureLog()
  failures.failed(refused(1))
  for (let n = 0; n < 2; n++) failures.failed(new Error('a defect'), 'error')
  failures.failed(refused(2))
  expect(lines).toMatchObject([
    { level: 'warn', err: { message: 'connect 1' } },
    { level: 'error', err: { message: 'a defect' } },
    { level: 'warn', err: { message: 'connect 2' } },
  ])
})

test('logs the first success after a failure', () => {
  const { failures, lines } = failureLog()
  failures.succeeded()
  failures.failed(refused(1))
  for (let n = 0; n < 2; n++) failures.succeeded()
  expect(lines).toMatchObject([{ level: 'warn' }, { level: 'info', msg: 'it works again' }])
})
