import { createPart } from '../app/part.ts'
import { whenIdle } from '../ui/idle.ts'

/** What a signed-in page needs only after its first view. It is loaded after that. */
export const background = createPart(() => new Promise<void>(whenIdle).then(() => import('./background.ts')))
