/** The actions of the audit log that its filter suggests. A newer server may have others, which can be typed. */
export const auditActions = `
  server.settings.update user.create user.remove user.exit user.role.update user.name.update user.profile.update user.email.update
  user.activate user.deactivate user.password.reset password.update login.success login.failure login.lockout mfa.totp.create
  mfa.totp.delete mfa.passkey.create mfa.passkey.delete mfa.recovery.use mfa.reset session.end session.reuse group.create group.update
  group.delete group.members.update channel.create channel.update channel.delete channel.leave message.delete subscription.create
  subscription.update subscription.replay subscription.delete subscription.pause webhook.create webhook.delete webhook.orphan
  webhook.take-over webhook.url export.create token.create scim.client.create scim.client.delete token.delete bot.create bot.update
  bot.delete command.create command.update command.delete
`
  .trim()
  .split(/\s+/)
