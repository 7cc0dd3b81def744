import { recordJob, uuidv7 } from '@parley/database'
import { createLogger, createMetrics, type Logger } from '@parley/telemetry'
import { createDatabase, createRedis, type TestDatabase, type TestRedis } from '@parley/test'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createWorker, type QueueOptions } from './index.ts'
import { claimJobs } from './jobs.queries.ts'

const silent = createLogger({ service: 'test', level: 'silent' })
const eventually = (assertion: () => void | Promise<void>) => vi.waitFor(assertion, { timeout: 20_000, interval: 20 })

let redis: TestRedis
let database: TestDatabase
let raw: Redis
const open: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await createDatabase()
  redis = await createRedis()
  raw = new Redis(redis.url)
  raw.on('error', () => {})
})

beforeEach(async () => {
  await raw.config('SET', 'maxmemory', '0')
  await database.pool.query('truncate jobs')
  await raw.flushall()
})

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

afterAll(async () => {
  raw.disconnect()
  await Promise.all([database.drop(), redis.discard()])
})

const mailTo = (to: string) =>
  database
    .as('auth')
    .db.transaction()
    .execute((trx) => recordJob(trx, 'send-mail', { to, subject: 'subject', text: 'secret text' }))

const rows = async () =>
  (await database.pool.query('select id, enqueued_at, failed_at, failure from jobs order by id')).rows

function work(
  handler: (to: string) => Promise<void>,
  {
    againAfterMs,
    logger = silent,
    ...queue
  }: Partial<QueueOptions<'send-mail'>> & { againAfterMs?: number; logger?: Logger } = {},
) {
  const metrics = createMetrics({ service: 'test' })
  const worker = createWorker({
    queues: {
      'send-mail': { handler: ({ to }) => handler(to), attempts: 3, backoffMs: 1, concurrency: 2, ...queue },
    },
    ...(againAfterMs !== undefined && { againAfterMs }),
    db: database.as('worker').db,
    redis: { url: redis.url },
    logger,
    metrics,
    clock: Date.now,
  })
  open.push(() => worker.stop())
  return { metrics }
}

test('the jobs of a queue are counted as 0 before the first one', async () => {
  const text = await work(async () => {}).metrics.text()
  expect(text).toContain('parley_jobs_total{queue="send-mail",outcome="completed"} 0')
  expect(text).toContain('parley_jobs_total{queue="send-mail",outcome="failed"} 0')
})

describe('a recorded job', () => {
  test('is done once, by one of two workers, and its row is deleted', async () => {
    const done: string[] = []
    const handler = async (to: string) => void done.push(to)
    work(handler)
    work(handler)
    for (let n = 0; n < 10; n++) await mailTo(`${n}`)
    await eventually(async () => expect(await rows()).toEqual([]))
    expect(done.toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  test('that was rolled back is not done', async () => {
    const done: string[] = []
    work(async (to) => void done.push(to))
    await database.db
      .transaction()
      .execute(async (trx) => {
        await recordJob(trx, 'send-mail', { to: 'nobody', subject: '', text: '' })
        throw new Error('rolled back')
      })
      .catch(() => {})
    await mailTo('somebody')
    await eventually(() => expect(done).toEqual(['somebody']))
  })

  test('is tried again after a failure', async () => {
    let attempts = 0
    work(async () => {
      if (++attempts < 3) throw new Error('not yet')
    })
    await mailTo('somebody')
    await eventually(async () => expect([attempts, await rows()]).toEqual([3, []]))
  })

  test('is tried again after the pauses of its own schedule', async () => {
    const asked: number[] = []
    let attempts = 0
    work(
      async () => {
        if (++attempts < 3) throw new Error('not yet')
      },
      {
        backoffMs(retry) {
          asked.push(retry)
          return 1
        },
      },
    )
    await mailTo('somebody')
    await eventually(async () => expect([attempts, asked, await rows()]).toEqual([3, [1, 2], []]))
  })

  test('that has to wait does not delay others, and uses no attempt', async () => {
    const done: string[] = []
    let asked = 0
    work(async (to) => void done.push(to), {
      attempts: 1,
      concurrency: 1,
      waitMs: ({ to }) => (to === 'later' && ++asked < 4 ? 10 : 0),
    })
    await mailTo('later')
    await eventually(() => expect(asked).toBeGreaterThan(0))
    await mailTo('other')
    await eventually(async () => expect([done.toSorted(), asked, await rows()]).toEqual([['later', 'other'], 4, []]))
  })

  test('stays with its failure after the last attempt, and shows in the metrics', async () => {
    let attempts = 0
    const { metrics } = work(async () => {
      attempts++
      throw new Error('never')
    })
    const id = await mailTo('somebody')
    await eventually(async () =>
      expect(await rows()).toEqual([
        { id, enqueued_at: expect.any(Number), failed_at: expect.any(Number), failure: 'never' },
      ]),
    )
    expect(attempts).toBe(3)
    const text = await metrics.text()
    expect(text).toMatch(/parley_queue_depth\{(?=[^}]*queue="send-mail")(?=[^}]*state="dead")[^}]*\} 1/)
    expect(text).toMatch(/parley_jobs_total\{(?=[^}]*outcome="failed")[^}]*\} 3/)
  })

  test('is done after those recorded before it', async () => {
    const people = Array.from({ length: 40 }, (_, index) => `person ${index}`)
    await database.db.transaction().execute(async (trx) => {
      for (const to of people) await recordJob(trx, 'send-mail', { to, subject: 'Hello', text: 'there' })
    })
    const done: string[] = []
    work(async (to) => void done.push(to), { concurrency: 1 })
    await eventually(async () => expect(done).toHaveLength(people.length))
    expect(done).toEqual(people)
  })

  test('survives that Redis loses everything', async () => {
    const gate = Promise.withResolvers<void>()
    const done: string[] = []
    work(
      async (to) => {
        if (to === 'first') await gate.promise
        done.push(to)
      },
      { concurrency: 1, againAfterMs: 500 },
    )
    await mailTo('first')
    const second = await mailTo('second')
    await eventually(async () => expect(await raw.exists(`parley:{jobs}:send-mail:${second}`)).toBe(1))
    redis.kill('SIGKILL')
    await redis.restart()
    await eventually(async () => expect(await raw.ping()).toBe('PONG'))
    gate.resolve()
    await eventually(async () => expect([done.includes('second'), await rows()]).toEqual([true, []]))
  })

  test('waits in the table while Redis is unavailable, where the metrics still count it', async () => {
    const done: string[] = []
    const { metrics } = work(async (to) => void done.push(to))
    redis.kill('SIGKILL')
    await mailTo('somebody')
    const text = await metrics.text()
    await redis.restart()
    expect(text).toContain('parley_queue_depth{queue="send-mail",state="recorded"} 1')
    await eventually(async () => expect([done, await rows()]).toEqual([['somebody'], []]))
  })

  test('waits while the memory of Redis is full, which is logged once', async () => {
    const lines: { msg: string; queue?: string; err?: { message: string } }[] = []
    const destination = { write: (line: string) => lines.push(JSON.parse(line)) }
    const done: string[] = []
    await raw.config('SET', 'maxmemory', '1')
    work(async (to) => void done.push(to), { logger: createLogger({ service: 'test', level: 'info', destination }) })
    await mailTo('somebody')
    // Each attempt claims the row, and gives it back.
    const claims = new Set<string>()
    await eventually(async () => {
      const { rows } = await database.pool.query('select xmin::text from jobs')
      claims.add(rows[0].xmin)
      expect(claims.size).toBeGreaterThan(4)
    })
    await raw.config('SET', 'maxmemory', '0')
    await eventually(async () => expect([done, await rows()]).toEqual([['somebody'], []]))
    const failures = lines.filter(({ msg }) => msg === 'jobs could not be enqueued')
    expect(failures).toMatchObject([{ queue: 'send-mail', err: { message: expect.stringContaining('OOM') } }])
  })

  test('stops while its blocking connection waits for the next attempt to connect', async () => {
    const done: string[] = []
    work(async (to) => void done.push(to))
    await mailTo('somebody')
    await eventually(() => expect(done).toEqual(['somebody']))
    const blocked = async () =>
      ((await raw.client('LIST')) as string).split('\n').find((line) => line.includes('cmd=bzpopmin'))
    let line: string | undefined
    await eventually(async () => {
      line = await blocked()
      expect(line).toBeDefined()
    })
    await raw.client('KILL', 'ID', /^id=(\d+)/.exec(line!)![1]!)
    await open.pop()!()
  })

  test('leaves nothing of its content in Redis', async () => {
    const gate = Promise.withResolvers<void>()
    work(() => gate.promise)
    const id = await mailTo('somebody')
    await eventually(async () => expect(await raw.exists(`parley:{jobs}:send-mail:${id}`)).toBe(1))
    expect(JSON.stringify(await raw.hgetall(`parley:{jobs}:send-mail:${id}`))).not.toMatch(/secret text|somebody/)
    gate.resolve()
    await eventually(async () => expect(await rows()).toEqual([]))
  })
})

test('each name has its share of the claimed jobs, so that many jobs of one name do not delay other names', async () => {
  const previews = Array.from({ length: 150 }, () => ({ messageId: uuidv7() }))
  await database
    .as('messaging')
    .db.transaction()
    .execute(async (trx) => {
      for (const data of previews) await recordJob(trx, 'make-previews', data)
    })
  const mail = await mailTo('somebody')
  const claim = () => claimJobs(database.as('worker').db, ['make-previews', 'send-mail', 'delete-blobs'], 60_000)
  const [first, second, third] = [await claim(), await claim(), await claim()]
  expect([first.get('make-previews')?.length, first.get('send-mail')]).toEqual([100, [mail]])
  expect([...second.keys(), second.get('make-previews')?.length]).toEqual(['make-previews', 50])
  expect(third.size).toBe(0)
})
