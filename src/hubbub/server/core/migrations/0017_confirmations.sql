-- Accounts whose address was confirmed by a client without a session of the account, so that another person than the owner of the address
-- may have created the account (decisions/0153). A reset of the password by mail removes the other credentials of such an account.
CREATE TABLE sessionless_confirmations (
    user_id BIGINT NOT NULL PRIMARY KEY,
    confirmed_ms BIGINT NOT NULL
);
