import { BlobMissing } from '@parley/blobs'
import { limits, type User, unavailable } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person, samples } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import sharp from 'sharp'
import { describe, expect, test, vi } from 'vitest'

const environment = testEnvironment()
const newcomer = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const base64 = (bytes: Buffer) => bytes.toString('base64')
const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer()
const avatarOf = async (person: Person): Promise<string | null> =>
  (await person.get('/auth/me')).body.user.avatarVersion
const listedAvatarOf = async (person: Person) => {
  const { users } = (await person.get('/users')).body as { users: User[] }
  return users.find(({ id }) => id === person.id)!.avatarVersion
}
const keysOf = async (version: string) => {
  const rows = await environment.deps.db.selectFrom('blobs').select('key').where('key', 'like', `avatars/${version}%`)
  return (await rows.execute()).map(({ key }) => key.split('.')[1]).sort()
}
const noKeysOf = (version: string) =>
  vi.waitFor(async () => expect(await keysOf(version)).toEqual([]), { timeout: 20_000, interval: 50 })

/** Sets an avatar and waits for the event. */
async function setsAvatar(person: Person, image: Buffer): Promise<string> {
  const { status, body } = await person.put('/users/me/avatar', { image: base64(image) })
  expect([status, body]).toEqual([200, { success: true, avatarVersion: expect.any(String) }])
  const { avatarVersion } = body
  await environment.events.to(environment.people.bob).toHave('UPDATE_USER', { id: person.id, avatarVersion })
  return avatarVersion
}

describe('PUT /users/me/avatar', () => {
  test('is encoded to squares, announced to everyone, and returned to every signed-in person', async () => {
    const { bob, nobody } = environment.people
    const rob = await newcomer('rob')
    expect([await avatarOf(rob), await listedAvatarOf(rob)]).toEqual([null, null])
    const version = await setsAvatar(rob, await picture(600, 300))
    expect([await avatarOf(rob), await listedAvatarOf(rob)]).toEqual([version, version])

    const path = `/users/${rob.id}/avatar/${version}`
    for (const [query, side] of [
      ['', 256],
      ['?size=256', 256],
      ['?size=64', 64],
    ] as const) {
      const { status, headers, bytes } = await bob.downloads(path + query)
      expect([status, headers['content-type'], headers['cache-control'], headers['x-content-type-options']]).toEqual([
        200,
        'image/webp',
        'private, max-age=31536000, immutable',
        'nosniff',
      ])
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: side, height: side })
    }
    expect(await bob.downloads(path, {}, 'HEAD')).toMatchObject({ status: 200, bytes: Buffer.alloc(0) })
    expect((await nobody.downloads(path)).status).toBe(401)
    expect((await bob.downloads(`${path}?size=128`)).status).toBe(400)
    for (const other of [`/users/${bob.id}/avatar/${version}`, `/users/${rob.id}/avatar/${uuidv7()}`]) {
      expect((await bob.downloads(other)).status).toBe(404)
    }
    for (const other of ['nonsense/avatar/nonsense', `${rob.id}/avatar/nonsense`, `nonsense/avatar/${version}`]) {
      expect((await bob.downloads(`/users/${other}`)).status).toBe(404)
    }
    // The original is not kept.
    await vi.waitFor(async () => expect(await keysOf(version)).toEqual(['256', '64']), { timeout: 20_000 })
  })

  test.each([
    ['png', samples.png],
    ['jpeg', samples.jpg],
    ['webp', samples.webp],
  ])('takes the bytes of a %s as they are, and enlarges a small image', async (format, bytes) => {
    const person = await newcomer(`raw-${format}`)
    const response = await fetch(`${person.baseUrl}/users/me/avatar`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${person.token}`, 'content-type': `image/${format}` },
      body: new Uint8Array(bytes),
    })
    const { avatarVersion } = (await response.json()) as { avatarVersion: string }
    expect(response.status).toBe(200)
    await environment.events.to(environment.people.bob).toHave('UPDATE_USER', { id: person.id, avatarVersion })
    const download = await person.downloads(`/users/${person.id}/avatar/${avatarVersion}`)
    expect(await sharp(download.bytes).metadata()).toMatchObject({ width: 256, height: 256 })
  })

  test('replaces the earlier avatar, whose bytes are deleted', async () => {
    const carol = await newcomer('carol')
    const first = await setsAvatar(carol, await picture(10, 10))
    const second = await setsAvatar(carol, await picture(20, 20))
    expect(second).not.toBe(first)
    expect((await carol.downloads(`/users/${carol.id}/avatar/${first}`)).status).toBe(404)
    expect((await carol.downloads(`/users/${carol.id}/avatar/${second}`)).status).toBe(200)
    await noKeysOf(first)
  })

  test('several uploads at the same time: one is shown and the others leave no bytes', async () => {
    const dora = await newcomer('dora')
    const image = base64(await picture(30, 30))
    const responses = await Promise.all(Array.from({ length: 5 }, () => dora.put('/users/me/avatar', { image })))
    expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200))
    const versions = responses.map(({ body }) => body.avatarVersion as string)
    const rows = () =>
      environment.deps.db.selectFrom('avatars').select(['version', 'readyAt']).where('userId', '=', dora.id)
    await vi.waitFor(
      async () => {
        const [row, ...others] = await rows().execute()
        expect([row?.readyAt, others]).toEqual([expect.any(Number), []])
      },
      { timeout: 20_000, interval: 50 },
    )
    const shown = (await avatarOf(dora))!
    expect(versions).toContain(shown)
    for (const version of versions) if (version !== shown) await noKeysOf(version)
  })

  const impossible = Buffer.from(samples.png)
  impossible.writeUInt32BE(60_000, 16)
  impossible.writeUInt32BE(60_000, 20)
  test.each([
    ['a page', 400, Buffer.from('<script>alert(1)</script>')],
    ['an SVG', 400, samples.svg],
    ['nothing', 400, Buffer.alloc(0)],
    ['a PNG that breaks off within its header', 400, samples.png.subarray(0, 20)],
    ['more than 1 MB', 400, Buffer.concat([samples.png, Buffer.alloc(limits.avatar)])],
    ['more than 50 million pixels', 400, impossible],
  ])('refuses %s with %i', async (_what, status, image) => {
    const response = await environment.people.cat.put('/users/me/avatar', { image: base64(image) })
    expect([response.status, response.body.error]).toEqual([status, expect.any(String)])
    expect(await avatarOf(environment.people.cat)).toBeNull()
  })

  test.each([
    ['no image', {}, 400],
    ['no base64', { image: 'nonsense!' }, 400],
    ['a number', { image: 1 }, 400],
    ['3 MB', { image: 'x'.repeat(3 * 1024 * 1024) }, 413],
  ])('refuses %s', async (_what, body, status) => {
    expect(await environment.people.cat.put('/users/me/avatar', body)).toMatchObject({ status })
  })

  test.each([
    ['more than 1 MB', limits.avatar + 1, 400],
    ['more than the largest body', 2 * limits.avatar + 1, 413],
  ])('refuses %s of bytes as they are', async (_what, size, status) => {
    const { baseUrl, token } = environment.people.cat
    const response = await fetch(`${baseUrl}/users/me/avatar`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'image/png' },
      body: new Uint8Array(size),
    })
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ error: expect.any(String) }),
    ])
  })

  test('an image that cannot be decoded leaves the earlier avatar and no bytes', async () => {
    const eve = await newcomer('eve')
    const version = await setsAvatar(eve, await picture(10, 10))
    // A file with a valid header and damaged data.
    const broken = samples.png.subarray(0, 60)
    const { status, body } = await eve.put('/users/me/avatar', { image: base64(broken) })
    expect(status).toBe(200)
    const rows = environment.deps.db.selectFrom('avatars').select('version').where('userId', '=', eve.id)
    await vi.waitFor(async () => expect(await rows.execute()).toEqual([{ version }]), { timeout: 20_000, interval: 50 })
    await noKeysOf(body.avatarVersion)
    expect(await avatarOf(eve)).toBe(version)
  })

  test('is refused while the store is unavailable, and the avatar stays', async () => {
    const fay = await newcomer('fay')
    const version = await setsAvatar(fay, await picture(10, 10))
    const { blobs } = environment.depsOf('directory')
    const { put } = blobs
    blobs.put = async () => {
      throw unavailable()
    }
    try {
      expect(await fay.put('/users/me/avatar', { image: base64(samples.png) })).toMatchObject({ status: 503 })
    } finally {
      blobs.put = put
    }
    expect(await avatarOf(fay)).toBe(version)
  })

  test('is for people who are signed in', async () => {
    const { nobody } = environment.people
    expect(await nobody.put('/users/me/avatar', { image: base64(samples.png) })).toMatchObject({ status: 401 })
    expect(await nobody.delete('/users/me/avatar')).toMatchObject({ status: 401 })
  })
})

describe('DELETE /users/me/avatar', () => {
  test('removes the avatar with its bytes and sends an event to everyone; a repetition changes nothing', async () => {
    const { bob } = environment.people
    const gil = await newcomer('gil')
    const version = await setsAvatar(gil, await picture(10, 10))
    expect(await gil.delete('/users/me/avatar')).toMatchObject({ status: 200, body: { success: true } })
    await environment.events.to(bob).toHave('UPDATE_USER', { id: gil.id, avatarVersion: null })
    expect(await avatarOf(gil)).toBeNull()
    expect((await bob.downloads(`/users/${gil.id}/avatar/${version}`)).status).toBe(404)
    await noKeysOf(version)
    expect(await gil.delete('/users/me/avatar')).toMatchObject({ status: 200, body: { success: true } })
  })

  test('removing a person removes their avatar', async () => {
    const { ada, bob } = environment.people
    const [hal, ida] = [await newcomer('hal'), await newcomer('ida')]
    const versions = [await setsAvatar(hal, await picture(10, 10)), await setsAvatar(ida, await picture(10, 10))]
    expect(await ada.delete(`/users/${hal.id}`)).toMatchObject({ status: 200 })
    expect(await ida.post('/users/exit')).toMatchObject({ status: 200 })
    for (const [index, person] of [hal, ida].entries()) {
      expect((await bob.downloads(`/users/${person.id}/avatar/${versions[index]}`)).status).toBe(404)
      await noKeysOf(versions[index]!)
    }
  })
})

test('a role and a name change with the avatar that is there', async () => {
  const { ada, bob } = environment.people
  const jon = await newcomer('jon')
  const avatarVersion = await setsAvatar(jon, await picture(10, 10))
  await jon.put('/users/me', { userName: 'Jonathan' })
  await environment.events.to(bob).toHave('UPDATE_USER', { id: jon.id, userName: 'Jonathan', avatarVersion })
  await ada.put(`/users/${jon.id}/role`, { role: 'admin' })
  await environment.events.to(bob).toHave('UPDATE_USER', { id: jon.id, isAdmin: true, avatarVersion })
})

test('an avatar whose bytes are deleted between row and answer is unknown', async () => {
  const kim = await newcomer('kim')
  const version = await setsAvatar(kim, await picture(10, 10))
  const { blobs } = environment.depsOf('directory')
  const { get } = blobs
  blobs.get = async (key) => {
    throw new BlobMissing(key)
  }
  try {
    expect((await kim.downloads(`/users/${kim.id}/avatar/${version}`)).status).toBe(404)
  } finally {
    blobs.get = get
  }
})
