import { RequestFailed } from '@parley/client'
import { findNamed, foldName } from '../app/names.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

/** A channel or conversation that was found by name. */
export interface NamedPlace {
  id: string
  name: string
  lastSeq: number
}

/** A part of a name that several channels and conversations have. */
export class SeveralPlaces extends RequestFailed {
  readonly places: readonly NamedPlace[]

  constructor(places: readonly NamedPlace[]) {
    super(400, t('Several channels or conversations match this name'))
    this.places = places
  }
}

/**
 * The channel with this name, or the conversation with the person of this name. A part of the name is enough when only one has it.
 * @throws RequestFailed with a sentence when there is none. @throws SeveralPlaces
 */
export async function findPlace(workspace: Workspace, name: string): Promise<NamedPlace> {
  const query = { q: name, members: 'false', limit: 50 } as const
  const { channels } = await workspace.client.request('GET /channels', { query })
  const conversations = workspace
    .conversations()
    .map(({ id, otherUser, lastSeq }) => ({ id, name: otherUser.userName, lastSeq }))
  const all: readonly NamedPlace[] = [...workspace.channels.peek(), ...channels, ...conversations]
  const places = [...new Map(all.map((place) => [place.id, place])).values()]
  const named = findNamed(places, name, (place) => place.name)
  if (named) return named
  const wanted = foldName(name)
  const [found, ...others] = places
    .filter((place) => foldName(place.name).includes(wanted))
    .sort((one, other) => positionOf(one) - positionOf(other) || one.name.localeCompare(other.name))
  if (!found) throw new RequestFailed(400, t('No channel or conversation is called {name}', { name }))
  if (others.length > 0) throw new SeveralPlaces([found, ...others])
  return found

  /** Names that begin with the text are first. */
  function positionOf(place: NamedPlace) {
    return foldName(place.name).startsWith(wanted) ? 0 : 1
  }
}
