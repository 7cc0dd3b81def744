import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { appPostRoutes } from './app-posts/app-posts.routes.ts'
import { conversationRoutes } from './conversations/conversations.routes.ts'
import { downloadRoutes } from './downloads/downloads.routes.ts'
import { followRoutes } from './follows/follows.routes.ts'
import { mentionRoutes } from './mentions/mentions.routes.ts'
import { messageRoutes } from './messages/messages.routes.ts'
import { pinRoutes } from './pins/pins.routes.ts'
import { preferencesRoutes } from './preferences/preferences.routes.ts'
import { previewRoutes } from './previews/previews.routes.ts'
import { reactionRoutes } from './reactions/reactions.routes.ts'
import { readStateRoutes } from './read-state/read-state.routes.ts'
import { savedRoutes } from './saved/saved.routes.ts'
import { searchRoutes } from './search/search.routes.ts'
import { sendRoutes } from './sending/send.routes.ts'
import { createSender } from './sending/sender.ts'
import { threadRoutes } from './threads/threads.routes.ts'
import { typingRoutes } from './typing/typing.routes.ts'
import { createUploadMemory } from './uploads/upload-memory.ts'
import { announcedUploadRoutes, binaryFileRoutes, fileRoutes, imageRoutes } from './uploads/uploads.routes.ts'
import { webhookPostRoutes } from './webhook-posts/webhook-posts.routes.ts'

/** Messages: channels, threads, direct messages, reactions, pins, uploads, search. */
export const messaging =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const sender = createSender(deps)
    const memory = createUploadMemory({ uploadsOfOne: deps.config.server.uploadsPerPerson })
    app.addHook('onClose', async () => sender.close())

    await app.register(sendRoutes(deps, sender))
    await app.register(messageRoutes(deps))
    await app.register(previewRoutes(deps))
    await app.register(reactionRoutes(deps))
    await app.register(pinRoutes(deps))
    await app.register(conversationRoutes(deps))
    await app.register(threadRoutes(deps))
    await app.register(followRoutes(deps))
    await app.register(mentionRoutes(deps))
    await app.register(savedRoutes(deps))
    await app.register(readStateRoutes(deps))
    await app.register(preferencesRoutes(deps))
    await app.register(typingRoutes(deps))
    await app.register(webhookPostRoutes(deps))
    await app.register(appPostRoutes(deps))
    await app.register(searchRoutes(deps))
    await app.register(fileRoutes(deps, memory))
    await app.register(binaryFileRoutes(deps, memory))
    await app.register(announcedUploadRoutes(deps, memory))
    await app.register(imageRoutes(deps, memory))
    await app.register(downloadRoutes(deps))
  }
